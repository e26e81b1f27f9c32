//! The metrics of the real shop, as a real Prometheus server scrapes them, and as a collector of
//! OpenTelemetry gets them over a real socket.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod otlp;
mod prometheus;
mod shop;
