"""What parameters and arrays may be: every complaint is one sentence that says what was found and what is allowed."""
