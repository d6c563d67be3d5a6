"""Advice on what to publish: criteria, candidates, their figures, a decision, and a screen that says why."""
