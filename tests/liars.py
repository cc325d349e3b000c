"""Values that lie about what they are: small hand-written classes for the tests of checks."""

from __future__ import annotations

from collections.abc import Mapping


class Impostor:
    """No text, yet it hashes like a text and calls itself equal to everything."""

    def __init__(self, text):
        """Hash like `text`."""
        self._hash = hash(text)

    def __hash__(self):
        """Return the hash of a text."""
        return self._hash

    def __eq__(self, other):
        """Agree with everybody."""
        return True


class Explosive(Impostor):
    """It hashes like a text and raises when it is compared or shown."""

    __hash__ = Impostor.__hash__

    def __eq__(self, other):
        """Raise."""
        raise RuntimeError("compared")

    def __repr__(self):
        """Raise."""
        raise RuntimeError("shown")


class Masked(str):
    """A text that hashes like another text and calls itself equal to everything."""

    __slots__ = ("_hash",)

    def __new__(cls, text, mask):
        """Be `text`, and hash like `mask`."""
        self = super().__new__(cls, text)
        self._hash = hash(mask)
        return self

    def __hash__(self):
        """Return the hash of the mask."""
        return self._hash

    def __eq__(self, other):
        """Agree with everybody."""
        return True


class Shy(str):
    """A text that raises wherever its own code is run: shown, compared or hashed as a value."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        """Raise."""
        raise RuntimeError("compared")

    def __repr__(self):
        """Raise."""
        raise RuntimeError("shown")

    def __str__(self):
        """Raise."""
        raise RuntimeError("read")


class Disguised:
    """No text, but `isinstance` takes it for one, as it does a mock of `str`."""

    @property
    def __class__(self):
        """Claim to be a text."""
        return str


class Unhashable:
    """A value without a hash whose representation raises."""

    __hash__ = None

    def __repr__(self):
        """Raise."""
        raise RuntimeError("shown")


class OddMeta(type):
    """A class of classes that have equality but no hash."""

    __hash__ = None

    def __eq__(cls, other):
        """Agree with everybody."""
        return True


class OfOddMeta(metaclass=OddMeta):
    """A value whose type cannot be hashed."""


class TextMeta(type):
    """A class of classes that hash like `str` and call themselves equal to it."""

    def __hash__(cls):
        """Return the hash of the type of texts."""
        return hash(str)

    def __eq__(cls, other):
        """Agree with everybody."""
        return True


class Counterfeit(Impostor, metaclass=TextMeta):
    """No text, yet it and even its type pass for one wherever only equality is asked."""

    __hash__ = Impostor.__hash__


class Pairs(Mapping):
    """A mapping that is no dict, with its items in the given order, twice where given twice."""

    def __init__(self, *pairs):
        """Hold these pairs."""
        self._pairs = pairs

    def __getitem__(self, key):
        """Return the last value of a key."""
        return dict(self._pairs)[key]

    def __iter__(self):
        """Yield the keys as given."""
        return (key for key, _ in self._pairs)

    def __len__(self):
        """Return the number of pairs."""
        return len(self._pairs)

    def items(self):
        """Return the pairs as given."""
        return list(self._pairs)


class Forgetful(dict):
    """A dict that answers look-ups with `stay`, whatever it holds."""

    def __getitem__(self, key):
        """Return an action for every key."""
        return "stay"

    def __missing__(self, key):
        """Return an action for every missing key."""
        return "stay"
