//! Chromium, as a person uses it.

mod accessibility;
mod cross_origin;
mod form;
mod history;
mod looks;
mod outage;
mod scripted;
mod scriptless;
