//! Tests with Chromium, used as a person would use it.

mod accessibility;
mod cross_origin;
mod dashboard;
mod dashboard_trouble;
mod fits;
mod form;
mod frames;
mod history;
mod libraries;
mod looks;
mod milestones;
mod outage;
mod purpose;
mod scripted;
mod scriptless;
mod states;
mod transfer;
