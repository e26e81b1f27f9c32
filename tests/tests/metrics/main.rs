//! The metrics that operators read: their table, the alerts and the dashboard built on them, and
//! their form in OpenTelemetry.
//!
//! Time is virtual, and requests need no socket. The test of a real Prometheus server is that of
//! the `shop` example.

#![expect(clippy::unwrap_used, reason = "a test fails where what it needs is not there")]

mod alerts;
mod everything;
mod ledger;
mod scene;
mod table;
