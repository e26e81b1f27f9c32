//! Builds the stages of a layer from a validated configuration.
//!
//! The stages are built once per layer. All services that the layer creates share these stages, so
//! the routes of an application share one room, one set of limits and one set of gates. Building
//! the stages cannot fail, because every part of the configuration was checked when the
//! configuration was built. Settings that are valid but suspicious are reported.

use std::sync::Arc;

use waiting_room_core::time::Clock;

use super::{
    journey::Stage,
    order::{Pipeline, RoomPart},
};
#[cfg(feature = "files")]
use crate::rules_file::FollowedFile;
use crate::{
    ambient::StageClock,
    config::{Enforcement, WaitingRoomConfig},
    gate::GateStage,
    rate::RateStage,
    request::Callers,
    respond::Responder,
    telemetry::Telemetry,
};

impl Pipeline {
    /// Builds the stages of a validated configuration. Without a store for the room, all stages use
    /// this clock.
    pub(crate) fn new(config: WaitingRoomConfig, clock: impl Clock) -> Self {
        let is_uniform = config.is_uniform();
        let telemetry = Telemetry::new(Arc::clone(&config.name));
        // All stages use the clock of the room's store, so that the deadlines of tickets, passes,
        // gates and limits are comparable. Only the timers for waits use tokio's clock.
        let clock = StageClock::new(move || clock.now());
        #[cfg(feature = "room")]
        let clock = config.room_options.clock(clock);
        let limits = RateStage::new(&config.rates, telemetry.clone(), clock.clone())
            .expect("the limits were validated when the configuration was built");
        // The rules file is read before the first request.
        #[cfg(feature = "files")]
        let rules_file = config
            .rules_file
            .map(|file| FollowedFile::new(file, Arc::clone(&limits.in_force), telemetry.clone()));
        #[cfg(feature = "room")]
        let room = config.room.as_ref().map(|rules| -> Arc<dyn RoomPart> {
            let schedule = config.schedule;
            let telemetry = telemetry.clone();
            Arc::new(config.room_options.stage(rules, schedule, clock.clone(), telemetry))
        });
        #[cfg(not(feature = "room"))]
        let room = None;
        let own_path = |field| {
            let paths = room.iter().flat_map(|room: &Arc<dyn RoomPart>| room.own_paths());
            let mut own = paths.filter(|_| config.enforcement == Enforcement::Enforce);
            own.find(|(name, _)| *name == field).map(|(_, path)| Arc::from(path))
        };
        let push = own_path("push.path");
        let transfer = own_path("transfer_path");
        let gates = GateStage::new(&config.gates, &clock, &telemetry)
            .expect("the gates were validated when the configuration was built");
        Self {
            room,
            has_only_limits: is_uniform && gates.is_empty(),
            gates,
            limits,
            order: Stage::order,
            callers: Callers::new(config.rates.client_ip.clone()),
            enforcement: config.enforcement,
            responder: Responder::new(
                Arc::clone(&config.name),
                config.page,
                config.shapes,
                config.statuses,
                config.json_profile,
                config.rates.headers,
            )
            .with_paths(push, transfer),
            rate_headers: config.rates.headers.fields(),
            debug_header: config.debug_header,
            #[cfg(feature = "files")]
            rules_file,
            bypass: config.bypass,
            preflight: config.preflight,
            clock,
            telemetry,
        }
    }

    /// Returns the name of the layer, which is also the name of its room.
    pub(crate) fn name(&self) -> &str {
        self.telemetry.room()
    }

    /// Returns the paths that the layer itself answers, each with the field that configures it.
    pub(crate) fn own_paths(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.room.iter().flat_map(|room| room.own_paths())
    }

    /// Returns the name of the room's cookie, or `None` in a layer without a room.
    pub(crate) fn cookie_name(&self) -> Option<&str> {
        self.room.as_ref().map(|room| room.cookie_name())
    }
}
