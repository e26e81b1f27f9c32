//! The client half: the link of a site to the global ledger, and that of an operator.

mod backoff;
mod dial;
mod operator;
mod site;
mod thinning;

pub use self::{
    dial::{Dial, TcpDial},
    operator::{OperatorError, OperatorLink},
    site::{LedgerLink, LinkOptions, LinkState},
};
