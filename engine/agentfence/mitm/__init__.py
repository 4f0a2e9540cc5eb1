"""The surface for HTTP: mitmproxy's hooks and layers, carrying bytes to the core and effects back."""
