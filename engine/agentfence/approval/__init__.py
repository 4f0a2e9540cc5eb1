"""Who is asked when a policy says ask."""
