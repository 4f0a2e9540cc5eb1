"""What an audit log must be: verified from its bytes, without touching a file."""
