//! The application's handle to the session of a request.

use std::{fmt, sync::Arc};

use waiting_room_core::{Pass, Reason, Timestamp};

use super::sessions::Sessions;

/// The visit to which a request belongs, found in the extensions of an admitted request.
///
/// With the `axum` feature, a handler takes the visit as an argument:
///
/// ```
/// # #[cfg(feature = "axum")] {
/// use axum::{Router, routing::post};
/// use tower_waiting_room::{WaitingRoomConfig, WaitingRoomLayer, room::Visit};
///
/// async fn buy(visit: Option<Visit>) -> &'static str {
///     if let Some(visit) = visit {
///         visit.end();
///     }
///     "Thank you."
/// }
///
/// let config = WaitingRoomConfig::builder("shop").total_active_users(200).build()?;
/// let app: Router = Router::new().route("/buy", post(buy)).layer(WaitingRoomLayer::new(config));
/// # let _ = app;
/// # }
/// # Ok::<(), tower_waiting_room::ConfigError>(())
/// ```
///
/// A request has no visit if it bypasses the room, or if it is forwarded without a pass, as while the
/// room is suspended. A handler that takes a `Visit` in place of an `Option` rejects such requests
/// with status 403.
///
/// Behind any other server, the visit is in the extensions:
///
/// ```
/// use tower_waiting_room::room::Visit;
///
/// async fn checkout(request: http::Request<String>) -> http::Response<String> {
///     if let Some(visit) = request.extensions().get::<Visit>() {
///         visit.end();
///     }
///     http::Response::new("Thank you.".to_owned())
/// }
/// # let _ = checkout;
/// ```
#[derive(Clone)]
pub struct Visit {
    pass: Pass,
    reason: Reason,
    sessions: Arc<Sessions>,
}

impl Visit {
    /// Creates the handle for a request that was admitted with `pass` for `reason`.
    pub(crate) const fn new(pass: Pass, reason: Reason, sessions: Arc<Sessions>) -> Self {
        Self { pass, reason, sessions }
    }

    /// Returns whether this is a visit to the room that these sessions belong to.
    pub(crate) fn is_of(&self, sessions: &Arc<Sessions>) -> bool {
        Arc::ptr_eq(&self.sessions, sessions)
    }

    /// Ends the session, for example after a checkout. The slot is free by the time the client
    /// receives the response. The response also makes the client discard its token.
    ///
    /// The pass becomes invalid on this node at once. If `end` is called after the head of the
    /// response has been sent, or if the client has disconnected, the client keeps its token, and
    /// the slot is freed when this node next asks the store about visitors without a pass. Each such
    /// request frees up to eight slots.
    pub fn end(&self) {
        self.sessions.end_by_application(&self.pass);
        self.sessions.ends.owe(self.pass.id);
    }

    /// Returns the time at which the visitor was admitted.
    #[must_use]
    pub const fn accepted_at(&self) -> Timestamp {
        self.pass.accepted_at
    }

    /// Returns the time at which the pass expires, unless a later request renews it.
    #[must_use]
    pub const fn expires_at(&self) -> Timestamp {
        self.pass.expires_at
    }

    /// Returns the reason why this request was admitted.
    #[must_use]
    pub const fn reason(&self) -> &Reason {
        &self.reason
    }
}

impl fmt::Debug for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visit")
            .field("pass", &self.pass)
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}
