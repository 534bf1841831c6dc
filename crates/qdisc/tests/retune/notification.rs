//! Congestion points and reaction points.
