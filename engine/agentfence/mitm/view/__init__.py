"""What a person sees of the fence in mitmweb and in mitmproxy's console."""
