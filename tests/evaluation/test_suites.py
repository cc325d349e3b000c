"""The built-in manifests: their hashes, and how a name finds them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from emberbench_dist.contract.scenario import load_scenario
from emberbench_dist.errors import ManifestError, ScenarioError
from emberbench_dist.evaluation import suites
from emberbench_dist.evaluation.manifest import load_manifest
from emberbench_dist.evaluation.suites import built_in_manifests, find_manifest, find_scenario

# A released manifest is never edited: one that differs gets a new name, such as public-v2.
MANIFESTS = {
    "large-v1": (20, "6a4e3fa987fadd7cd08d2e95e3c3eb5fa6de87f4265226ec73bd7ca27dd2fa63"),
    "public-v1": (640, "747b9e9b32bf3b1a47aecdbb0fcaf70f84ae622fc4df975583b94755d40aacb4"),
    "smoke-v1": (19, "fa14ae44c213b13255f0169e27924e1810b642d00f9012880549ae9d81116905"),
    "stress-v1": (100000, "3ae31fe51714ad26902f1d44479c41daf9e5d5abf2f1042d31ca712d6d35a0af"),
}
SCENARIOS = {
    "corridor-5x1": "61dafe99966571ba05abba0b0525c5162de7926590b474b07b7a75bbbf4d3ae1",
    "corridor-branch-15x7": "01d51ac095a34547c40c8332042137f69ccab73de83afc23833377b324869896",
    "flat-14x10": "c7108cad2fdd9af6229a2662253245faae6386f21348da177769e7ab68c1983d",
    "rooms-16x16": "fd818faa5b500588dbbfb187b8fb23b81eee86ded50990e5fd91ece82a9c4efd",
    "lobby-24x13": "0591e51325116e13606b648fc63c5df110a58bba794205f1157ac4fdae014f27",
    "hall-door-22x16": "bbf2b6af8b99563987d74aa9a53ec588b7af68877db36e760891343d9609ced7",
    "hall-pillars-24x24": "f6d22a6bf11ef63fc8ba4f28166d4078e358ad529d7cd7fe6da71691fc8bb4b9",
    "plaza-28x28": "2a389b3cc2b67c06cbdfe080ff00574e3842d508bdc5aab0b25f7eb3e88686c8",
    "store-26x12": "869c949460e68a3de87eb39dbbce982aff8dfb2bd450c5e90e52292aba927538",
    "maze-33x23": "301ba1c9e5ec66f21d50807e245ee5916a165eeb3563c4965f0e191cf237d7e3",
    "platform-56x9": "72c2615fef1d352c2d49e00216c7877e49d11028edd5bcab4fea0aa56e39378e",
    "school-41x19": "92310552a6d2a4c6985fd4beb715b64c468520d8a4470709a78fc7d39f918325",
    "office-43x27": "8d855dd16af864d24a17321268e6b4b7978192113123349f08a9d8b2f3d39d2c",
    "auditorium-41x27": "873dfec1fe5f5d5e6264819bbccaaf89c19243f60662aae3ea3fdd47a7cff995",
    "warehouse-48x32": "74090d9ca66e7e5e5f927ce671a343fd832763b74622fb139b9b0e5fb1533a11",
    "expo-64x64": "d5ba80ee0aee173651dc4cbd2fe7f152406e45033d4c8426bfe5fba8dec8a8d6",
    "office-5-16x16": "0d5fb1144eab5452312aaf455d5e3e9a1d463c0504e90c3985673e7577629ad8",
    "random-8-16x16": "a57807069ac8e62dc7e67c62cb995b82569694d43f4ac59f65bcff9d4a613c3d",
    "maze-6-32x32": "401ded9806f83ac84b1a9a26266e1fe4b299abe2857441f40ab97302ebc5cea7",
    "hall-2-32x32": "fb2731df39d6e64ae708fdf3d965393c6038f64e18eef7dbdd48ed4d9fa82a2c",
    "mall-8-32x32": "72922cfd1bbc837fcf65c4ad0b037a44493ec45527d30125e42ea5b8841893e0",
    "office-7-32x32": "88c8d56a38d1d6c54dfcf266dd026e914a7173f48e65a2a548af882e45a16f88",
    "stadium-8-32x32": "a825281349c7838d056d51628f424357230eb50bf5b3df5113b3095d75256c9e",
    "rooms-4-64x64": "e8eaf3c57fa3a09afcd8d5f229140d0f33619aa0d722270d4bbbd384a0255acc",
    "maze-5-64x64": "3bdb93b2793e141500f48a2be3466ec187c9af6ae7ff6a8ba2d6e57facb9bacb",
    "random-1-64x64": "0da02cebd5eaa895d84cd3c0931ae469ca4e0a30377c1fcd9863b47a6e09f2d6",
    "mall-5-64x64": "c03ee86f98373cb8b69d74f033a895167e7af285ae55f848d31c4ff61587f819",
    "stadium-2-64x64": "8b24c43baed06779b663702896bf4341d0beeb61eee599d15aec89b80af16614",
    "hall-1-128x128": "98c624922fdeaebd446162b29fe6e2160a64ab0db8c6d45222436eb5ae3142e1",
    "mall-4-128x128": "f075759689bc199677a34f665a0388dff2d8c950bc2217284a4310dd89c2c109",
    "office-2-128x128": "4170ab29302cdeadff7416a39db5925212357484a9db892d69c62737a5256f49",
    "office-1-256x256": "302585f39292530fef8f4acada7a5f5ce69b24e85e0ad6f29c5c3ad4e42c4ae2",
}


def test_the_built_in_manifests():
    """There are these, by name, each in a file of that name."""
    found = built_in_manifests()
    assert list(found) == sorted(MANIFESTS)
    assert {name: path.name for name, path in found.items()} == {
        name: f"{name}.json" for name in MANIFESTS
    }


@pytest.mark.parametrize("name", MANIFESTS)
def test_no_manifest_hash_changes(name):
    """A released manifest keeps its id, its number of episodes and its hash."""
    manifest = load_manifest(find_manifest(name))
    assert manifest.manifest_id == name
    assert (len(manifest), manifest.manifest_hash) == MANIFESTS[name]


def test_no_scenario_hash_changes():
    """The scenarios of the public suite keep their hashes."""
    scenarios = load_manifest(find_manifest("public-v1")).scenarios
    assert {name: scenario.scenario_hash for name, scenario in scenarios.items()} == SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_built_in_scenario_is_found_by_its_id(name):
    """The id of a scenario leads to its file, without its manifest."""
    assert load_scenario(find_scenario(name)).scenario_id == name


def test_a_scenario_file_is_found_by_its_path(tmp_path, monkeypatch):
    """A file that is there is what its name means, also where a built-in scenario is called so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corridor-5x1").touch()
    assert find_scenario("corridor-5x1").resolve() == tmp_path / "corridor-5x1"


@pytest.mark.parametrize("name", ["corridor", "x" * 300, "a\0b"])
def test_an_unknown_scenario_is_told_which_are_known(name):
    """What is neither a file nor built in is an error that lists the ids."""
    with pytest.raises(ScenarioError, match=f"there is no such file, .*{min(SCENARIOS)}, "):
        find_scenario(name)


def test_a_path_goes_before_a_name(tmp_path, monkeypatch):
    """What exists as a file is that file; a built-in name needs no file."""
    monkeypatch.chdir(tmp_path)
    assert find_manifest("smoke-v1") == built_in_manifests()["smoke-v1"]
    for name in ("mine.json", "smoke-v1"):
        (tmp_path / name).touch()
        assert find_manifest(name).resolve() == tmp_path / name
        assert find_manifest(str(tmp_path / name)) == tmp_path / name


def test_a_folder_does_not_hide_a_name(tmp_path, monkeypatch):
    """Where a folder, of results for instance, has a built-in name, the manifest is meant."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smoke-v1").mkdir()
    assert find_manifest("smoke-v1") == built_in_manifests()["smoke-v1"]


def test_a_manifest_is_loaded_by_its_name():
    """A built-in name stands for its file wherever a manifest is loaded."""
    assert load_manifest("smoke-v1") == load_manifest(built_in_manifests()["smoke-v1"])


@pytest.mark.parametrize(
    "name", ["smoke", "smoke-v1.json", "PUBLIC-V1", "a\0b", "x" * 5000, "\ud800"]
)
def test_an_unknown_name_is_an_error_that_lists_the_known(name, tmp_path, monkeypatch):
    """Neither a file nor a name: the error says which names there are."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ManifestError) as caught:
        find_manifest(name)
    assert str(caught.value) == (
        f"{name}: there is no such file, and the built-in manifests are "
        "large-v1, public-v1, smoke-v1, stress-v1"
    )


def test_built_in_manifests_are_found_beside_an_installed_package(tmp_path, monkeypatch):
    """The folder within the package goes before a checkout's; without both there is none."""
    package = tmp_path / "site" / "package"
    monkeypatch.setattr(suites, "_PACKAGE", package)
    assert built_in_manifests() == {}
    for folder, name in ((package.parent, "checkout"), (package, "installed")):
        (folder / "manifests").mkdir(parents=True)
        path = folder / "manifests" / f"{name}.json"
        path.touch()
        assert built_in_manifests() == {name: path}


def test_the_built_in_suite_is_found_from_anywhere(tmp_path):
    """A process in another working folder finds the manifests."""
    code = "from emberbench_dist.evaluation.suites import find_manifest as f; print(f('public-v1'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(find_manifest("public-v1"))
