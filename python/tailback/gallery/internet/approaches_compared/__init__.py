"""Approaches compared at 300 connections."""
