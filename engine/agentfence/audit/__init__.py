"""Where audit events are kept."""
