//! A waiting room for Tower services.
