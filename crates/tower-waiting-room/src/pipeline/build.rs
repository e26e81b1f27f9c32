//! Builds the stages of a layer from a validated configuration.
//!
//! This happens once per layer. All services that the layer makes share the result, so that the
//! routes of an application share one room, one set of limits and one set of gates. Nothing here
//! can fail: every part of the configuration was checked when it was built. Settings that are valid
//! but suspicious are reported.

use std::sync::Arc;

use waiting_room_core::Store;

use super::order::{Pipeline, Stage};
use crate::{
    ambient::StageClock, config::WaitingRoomConfig, gate::GateStage,
    misconfiguration::Misconfiguration, rate::RateStage, request::Callers, respond::Responder,
    room::StoreFailure, rules_file::FollowedFile, telemetry::Telemetry,
};

impl<St: Store> Pipeline<St> {
    /// Builds the stages of a validated configuration. Reports settings that are probably not
    /// intended, such as a store with other rules than the configuration.
    ///
    /// # Panics
    ///
    /// Never for a [`WaitingRoomConfig`] that was built: every stage was validated then.
    pub(crate) fn new(config: WaitingRoomConfig, store: St, on_failure: StoreFailure) -> Self {
        let telemetry = Telemetry::new(Arc::clone(&config.name));
        let source = store.clone();
        // One clock for all stages, that of the store, so that the deadlines of tickets and passes
        // and those of gates and limits are on the same scale. Only the timers of waits are
        // tokio's.
        let clock = StageClock::new(move || source.now());
        let limits = RateStage::new(&config.rates, telemetry.clone(), clock.clone())
            .expect("a config is built only with limits that can be kept");
        let followed = config
            .rules_file
            .map(|file| FollowedFile::new(file, Arc::clone(&limits.in_force), telemetry.clone()));
        // The file is read before the first request. The watch has to live as long as the pipeline.
        let (rules_file, watch) = followed.unzip();
        // The rules of the store win, so limits that the configuration states may not be in force.
        if config.room.as_ref().is_some_and(|rules| *store.given_rules() != *rules) {
            telemetry.misconfigured(Misconfiguration::RulesDiffer);
        }
        let room = config.room.as_ref().and_then(|rules| {
            config.room_options.stage(rules, store.clone(), on_failure, telemetry.clone())
        });
        Self {
            room,
            gates: GateStage::new(&config.gates, &clock, &telemetry)
                .expect("a config is built only with gates that can be kept"),
            limits,
            order: Stage::order,
            callers: Callers::new(config.rates.client_ip.clone()),
            enforcement: config.enforcement,
            responder: Responder::new(
                Arc::clone(&config.name),
                config.page,
                config.refusal,
                config.statuses,
                config.rates.headers,
            ),
            rate_headers: config.rates.headers.fields(),
            debug_header: config.debug_header,
            rules_file,
            _watch: watch.flatten(),
            bypass: config.bypass,
            preflight: config.preflight,
            store,
            telemetry,
        }
    }
}
