"""Distance metric learning."""
