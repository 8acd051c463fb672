"""Numerical helpers that depend on nothing but arrays: centring and blocked matrix products."""
