"""Exact simulation of collective communication on Trainium-class networks."""
