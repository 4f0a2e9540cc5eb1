"""The kinds of constraints: one module each, behind one interface."""
