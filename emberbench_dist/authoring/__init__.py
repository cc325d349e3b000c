"""Making scenarios and manifests: drawings, maps of other formats, seeds."""
