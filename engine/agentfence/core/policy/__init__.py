"""The policy language: reading, checking, merging and compiling policy files."""
