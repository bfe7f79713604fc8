"""The older way: tables that are generalised, split into groups, or measured for how diverse their groups are.

What this room publishes are rows of people. It is NOT differentially private, and every output says so.
"""
