//! The real shop as a process: what a person sees in a browser, what a Prometheus server and a
//! collector of OpenTelemetry read, and how it ends.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod otlp;
mod person;
mod prometheus;
mod shop;
