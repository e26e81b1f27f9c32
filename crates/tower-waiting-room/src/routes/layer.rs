//! The layer that sends each request to its room, and its service.

use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use tower_layer::Layer;
use tower_service::Service;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::{
    Route,
    table::{Selected, Table},
};
use crate::{
    layer::WaitingRoomLayer,
    pipeline::Pipeline,
    service::{ResponseBody, ResponseFuture},
};

/// A layer with several rooms, each for its own hosts and paths.
///
/// See the [module docs](super) for an example. Each room keeps its own
/// [handle](WaitingRoomLayer::handle), limits, gates and metrics.
pub struct WaitingRooms {
    rooms: Arc<Rooms>,
}

/// Builds [`WaitingRooms`].
#[must_use]
pub struct WaitingRoomsBuilder {
    routes: Vec<(Route, usize)>,
    pipelines: Vec<Arc<Pipeline>>,
}

/// The rooms of a layer. There is at least one.
struct Rooms {
    table: Table,
    pipelines: Vec<Arc<Pipeline>>,
}

impl WaitingRooms {
    /// Starts a layer without rooms.
    pub const fn builder() -> WaitingRoomsBuilder {
        WaitingRoomsBuilder { routes: Vec::new(), pipelines: Vec::new() }
    }

    /// Wraps the layer for axum, as [`WaitingRoomLayer::for_axum`] does.
    #[cfg(feature = "axum")]
    #[must_use]
    pub fn for_axum(self) -> crate::for_axum::ForAxum<Self> {
        crate::for_axum::ForAxum::new(self)
    }
}

impl WaitingRoomsBuilder {
    /// Adds a room, and the routes that belong to it.
    pub fn room(
        mut self,
        routes: impl IntoIterator<Item = Route>,
        layer: WaitingRoomLayer,
    ) -> Self {
        let room = self.pipelines.len();
        self.routes.extend(routes.into_iter().map(|route| (route, room)));
        self.pipelines.push(layer.into_pipeline());
        self
    }

    /// Checks the routes and the rooms.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no room, if a room has no route, if a route is malformed or
    /// belongs to two rooms, if two rooms have the same name or the same cookie, or if a room's
    /// path for push streams, for leaving or for transfers belongs to none of its routes.
    pub fn build(self) -> Result<WaitingRooms, ConfigError> {
        if self.pipelines.is_empty() {
            let expected = "at least one room";
            return Err(ConfigError::new(ConfigErrorKind::Missing, "rooms", "empty", expected));
        }
        for (room, pipeline) in self.pipelines.iter().enumerate() {
            if !self.routes.iter().any(|(_, of)| *of == room) {
                let given = format!("empty in the room {:?}", pipeline.name());
                let expected = "at least one route";
                return Err(ConfigError::new(ConfigErrorKind::Missing, "routes", given, expected));
            }
            self.compare(&self.pipelines[..room], pipeline)?;
        }
        for (index, (route, room)) in self.routes.iter().enumerate() {
            let name = self.pipelines[*room].name();
            route.validate(name)?;
            if let Some((_, other)) =
                self.routes[..index].iter().find(|(earlier, _)| earlier.is_same(route))
            {
                let given = format!("{route:?} in the room {name:?}");
                let other = self.pipelines[*other].name();
                let expected = format!("a route that does not belong to the room {other:?}");
                return Err(contradicts("route", given, expected));
            }
        }
        let table = Table::new(self.routes);
        for (room, pipeline) in self.pipelines.iter().enumerate() {
            for (field, path) in pipeline.own_paths() {
                if !table.leads_to(room, path) {
                    let given = format!("{path:?} in the room {:?}", pipeline.name());
                    let expected = "a path that a route of this room covers";
                    return Err(contradicts(field, given, expected));
                }
            }
        }
        let rooms = Rooms { table, pipelines: self.pipelines };
        Ok(WaitingRooms { rooms: Arc::new(rooms) })
    }

    /// Compares a room with those that were added before.
    fn compare(&self, before: &[Arc<Pipeline>], room: &Pipeline) -> Result<(), ConfigError> {
        for other in before {
            if other.name() == room.name() {
                let expected = "a name that no other room has (one room may have several routes)";
                return Err(contradicts("room", format!("{:?}", room.name()), expected));
            }
            if let (Some(cookie), Some(same)) = (room.cookie_name(), other.cookie_name())
                && cookie == same
            {
                let given = format!("{cookie:?} in the room {:?}", room.name());
                let expected =
                    format!("a cookie name that differs from that of the room {:?}", other.name());
                return Err(contradicts("cookie_name", given, expected));
            }
        }
        Ok(())
    }
}

fn contradicts(
    field: &'static str,
    given: impl fmt::Display,
    expected: impl fmt::Display,
) -> ConfigError {
    ConfigError::new(ConfigErrorKind::Contradicts, field, given, expected)
}

impl<S> Layer<S> for WaitingRooms {
    type Service = RoutedService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        RoutedService { inner, rooms: Arc::clone(&self.rooms) }
    }
}

/// A service behind several rooms, created by [`WaitingRooms`].
///
/// The service is always ready, as is a [`WaitingRoom`](crate::service::WaitingRoom).
pub struct RoutedService<S> {
    inner: S,
    rooms: Arc<Rooms>,
}

impl<S, B, ResBody> Service<Request<B>> for RoutedService<S>
where
    S: Service<Request<B>, Response = Response<ResBody>> + Clone,
    B: 'static,
{
    type Response = Response<ResponseBody<ResBody>>;
    type Error = S::Error;
    type Future = ResponseFuture<S, B>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Rooms { table, pipelines } = &*self.rooms;
        let inner = &mut self.inner;
        match table.select(request.uri(), request.headers()) {
            Selected::Room(room) => ResponseFuture::new(&pipelines[room], inner, request),
            Selected::Ambiguous(room) => {
                // A room that is not in shadow mode decides, because one in shadow mode would
                // forward the request.
                let mut candidates = std::iter::once(&pipelines[room]).chain(pipelines);
                let room =
                    candidates.find(|candidate| candidate.enforces()).unwrap_or(&pipelines[room]);
                ResponseFuture::ambiguous(room, inner, request)
            }
            Selected::None => ResponseFuture::forwarded(&pipelines[0], inner, request),
        }
    }
}

impl Clone for WaitingRooms {
    fn clone(&self) -> Self {
        Self { rooms: Arc::clone(&self.rooms) }
    }
}

impl<S: Clone> Clone for RoutedService<S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), rooms: Arc::clone(&self.rooms) }
    }
}

impl fmt::Debug for WaitingRooms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRooms").field("routes", &self.rooms.table).finish_non_exhaustive()
    }
}

impl fmt::Debug for WaitingRoomsBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitingRoomsBuilder").field("routes", &self.routes).finish_non_exhaustive()
    }
}

impl<S: fmt::Debug> fmt::Debug for RoutedService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoutedService").field("inner", &self.inner).finish_non_exhaustive()
    }
}
