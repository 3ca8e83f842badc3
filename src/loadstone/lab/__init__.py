"""Runs a plan: checks the targets, drives one step after another, and stores what was observed."""
