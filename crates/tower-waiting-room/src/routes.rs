//! Several rooms in front of one service, each for its own hosts and paths.
//!
//! ```text
//!             ┌─ ticket.example, any path ─► room "tickets" ─┐
//!  request ───┼─ any host, /sale ──────────► room "sale" ────┼──► service
//!             └─ everything else ────────────────────────────┘
//! ```
//!
//! A [`Route`] is a host, a path prefix, or both. Each request belongs to the room with the most
//! specific route that covers it: a route with a host is more specific than a route without one,
//! and a longer path is more specific than a shorter one. A request that no route covers is
//! forwarded without a room.
//!
//! ```
//! use tower_waiting_room::{
//!     WaitingRoomConfig, WaitingRoomLayer,
//!     routes::{Route, WaitingRooms},
//! };
//!
//! let sale = WaitingRoomConfig::builder("sale").total_active_users(200).build()?;
//! let routes = [Route::path("/sale/"), Route::host("sale.shop.example")];
//! let rooms = WaitingRooms::builder().room(routes, WaitingRoomLayer::new(sale)).build()?;
//! # let _ = rooms;
//! # Ok::<(), tower_waiting_room::ConfigError>(())
//! ```
//!
//! # Requests that are hard to read
//!
//! Servers behind the layer may interpret one path in several ways, for example `/sale/../shop`. If
//! a visitor could choose the room of such a request, a pass of an empty room would open a full
//! one. The layer therefore considers every interpretation. If the interpretations belong to
//! different rooms, or if the target and the `Host` header name hosts with different rooms, the
//! request is answered with 400 and the reason `refused:ambiguous_route`. If only some
//! interpretations belong to a room, that room applies.
//!
//! # Cookies
//!
//! Each room has a cookie of its own, named after the room, so a visitor may wait in one room and
//! be active in another. [`WaitingRoomsBuilder::build`] refuses two rooms with the same name or
//! with the same cookie.

mod layer;
mod route;
mod table;

pub use self::{
    layer::{RoutedService, WaitingRooms, WaitingRoomsBuilder},
    route::Route,
};
