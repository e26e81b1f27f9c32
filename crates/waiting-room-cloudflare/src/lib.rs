//! Moves a room from Cloudflare Waiting Room to [`tower-waiting-room`](tower_waiting_room).
//!
//! A [`WaitingRoom`] reads the JSON of Cloudflare's API: a room, its bypass rules and its events.
//! Settings with a counterpart here become a configuration and a schedule. All others are listed as
//! [`Unsupported`], each with the reason and an alternative, so nothing is lost silently.
//!
//! ```
//! use tower_waiting_room::WaitingRoomLayer;
//! use waiting_room_cloudflare::WaitingRoom;
//!
//! let room = WaitingRoom::from_json(
//!     r#"{
//!         "success": true,
//!         "result": {
//!             "name": "shop", "host": "shop.example", "path": "/",
//!             "total_active_users": 300, "new_users_per_minute": 200,
//!             "session_duration": 5, "queueing_method": "fifo",
//!             "custom_page_html": "{{#waitTimeKnown}}{{waitTime}} min{{/waitTimeKnown}}"
//!         }
//!     }"#,
//! )?;
//! for setting in room.unsupported() {
//!     eprintln!("{setting}");
//! }
//! let layer = WaitingRoomLayer::new(room.config()?);
//! # assert_eq!(room.unsupported().len(), 2);
//! # let _ = layer;
//! # Ok::<(), tower_waiting_room::ConfigError>(())
//! ```
//!
//! # How fields are converted
//!
//! A `WaitingRoom` becomes the fields of a configuration file ([`WaitingRoom::to_toml`]), and its
//! configuration ([`WaitingRoom::config`]) is that of this file. The page `from-cloudflare.md` in
//! the guide lists every field.
//!
//! Defaults are those of Cloudflare's API. For example, if a field is absent and Cloudflare
//! therefore sends a page with the status 200, the page is sent with 200 here too, although the
//! default of the layer is 503.
//!
//! A field with the same name as a [setting][`RoomRules::SETTINGS`] of the layer's rooms becomes
//! that setting, with its bounds. Cloudflare writes durations in minutes.
//!
//! [`RoomRules::SETTINGS`]: waiting_room_core::RoomRules::SETTINGS
//!
//! # What is an error
//!
//! A value of the room that Cloudflare's API cannot return is an error that names the field: a
//! negative number, a number in quotation marks, a page of more than 1 MiB. An unknown field is
//! [`Unsupported`], because the API gains fields over time. A rule, event or route with such a
//! value, for example an event that ends before it starts, is also unsupported, and only this
//! element is left out.

#![forbid(unsafe_code)]

mod event;
mod expression;
mod fields;
mod room;
mod rules;

pub use self::{fields::Unsupported, room::WaitingRoom};

#[cfg(test)]
mod tests;
