//! The routes of all rooms, and the room of a request.

use http::{HeaderMap, Uri};

use super::Route;
use crate::request::{each_reading, hosts};

/// All routes, the most specific first.
#[derive(Debug)]
pub(super) struct Table {
    /// The routes, each with the index of its room.
    routes: Vec<(Route, usize)>,
}

/// The room of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selected {
    /// No route covers the request.
    None,
    /// The request belongs to the room with this index.
    Room(usize),
    /// Servers may interpret the request in ways that belong to different rooms. The index is that
    /// of the first such room.
    Ambiguous(usize),
}

impl Selected {
    /// Combines the rooms of two interpretations of one request.
    fn and(self, other: Option<usize>) -> Self {
        match (self, other) {
            (Self::None, Some(room)) => Self::Room(room),
            (Self::Room(one), Some(other)) if one != other => Self::Ambiguous(one),
            _ => self,
        }
    }
}

impl Table {
    /// Creates a table from routes with the indices of their rooms.
    pub(super) fn new(mut routes: Vec<(Route, usize)>) -> Self {
        routes.sort_by_key(|(route, _)| std::cmp::Reverse(route.specificity()));
        Self { routes }
    }

    /// Returns the room of a request with this target and these headers.
    pub(super) fn select(&self, uri: &Uri, headers: &HeaderMap) -> Selected {
        let mut named: Vec<_> = hosts(uri, headers).map(Some).collect();
        named.dedup();
        if named.is_empty() {
            named.push(None);
        }
        let mut selected = Selected::None;
        let is_read = each_reading(uri.path(), |path| {
            for host in &named {
                selected = selected.and(self.room_of(*host, path));
            }
        });
        if is_read {
            return selected;
        }
        // A path that could not be interpreted may be any path on these hosts.
        let is_candidate = |route: &Route| named.iter().any(|host| route.covers_host(*host));
        let rooms = self.routes.iter().filter(|(route, _)| is_candidate(route));
        rooms.fold(selected, |selected, (_, room)| selected.and(Some(*room)))
    }

    /// Returns whether a request for this path on some host belongs to this room.
    pub(super) fn leads_to(&self, room: usize, path: &str) -> bool {
        let mut own = self.routes.iter().filter(|(_, of)| *of == room);
        own.any(|(route, _)| self.room_of(route.host_name(), path.as_bytes()) == Some(room))
    }

    /// Returns the room with the most specific route for this host and this reading of a path.
    fn room_of(&self, host: Option<&[u8]>, path: &[u8]) -> Option<usize> {
        let room = self.routes.iter().find(|(route, _)| route.covers(host, path));
        room.map(|(_, room)| *room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: Selected = Selected::Room(0);
    const SALE: Selected = Selected::Room(1);
    const TICKETS: Selected = Selected::Room(2);

    fn table() -> Table {
        Table::new(vec![
            (Route::path("/shop"), 0),
            (Route::path("/shop/sale/"), 1),
            (Route::host("tickets.example"), 2),
            (Route::host("tickets.example").below("/shop/sale/"), 1),
        ])
    }

    fn select(uri: &str, hosts: &[&str]) -> Selected {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append("host", host.parse().unwrap());
        }
        table().select(&uri.parse().unwrap(), &headers)
    }

    #[test]
    fn the_most_specific_route_wins() {
        for (uri, expected) in [
            ("/", Selected::None),
            ("/shop", SHOP),
            ("/shops", SHOP),
            ("/shop/sale", SALE),
            ("/shop/sale?x=/", SALE),
            ("/shop/sale/1", SALE),
            ("/shop/sales", SHOP),
            ("/Shop", Selected::None),
        ] {
            assert_eq!(select(uri, &[]), expected, "{uri}");
            assert_eq!(select(uri, &["other.example"]), expected, "{uri}");
        }
        assert_eq!(select("/", &["tickets.example"]), TICKETS);
        assert_eq!(select("/shop", &["tickets.example"]), TICKETS);
        assert_eq!(select("/shop/sale", &["tickets.example"]), SALE);
    }

    #[test]
    fn a_host_is_recognized_in_every_form() {
        for host in
            ["tickets.example:8080", "TICKETS.example", "tickets.example.", "a@tickets.example"]
        {
            assert_eq!(select("/", &[host]), TICKETS, "{host}");
        }
        assert_eq!(select("http://tickets.example/", &[]), TICKETS);
        assert_eq!(select("http://me@tickets.example:80/", &["tickets.example"]), TICKETS);
        assert_eq!(select("/", &["xtickets.example"]), Selected::None);
        assert_eq!(select("/", &[""]), Selected::None);
    }

    #[test]
    fn a_request_with_two_hosts_belongs_to_a_room_only_if_they_agree() {
        assert_eq!(select("/", &["other.example", "tickets.example"]), TICKETS);
        let ambiguous = select("http://other.example/shop", &["tickets.example"]);
        assert_eq!(ambiguous, Selected::Ambiguous(0));
    }

    #[test]
    fn a_path_that_may_belong_to_two_rooms_is_ambiguous() {
        for path in [
            "/shop/sale/../checkout",
            "/shop/sale/%2e%2e/checkout",
            "/shop/sale/..%2fcheckout",
            "/shop/x/../sale/",
            "/shop/%2573ale",
            "/shop/..;/shop/sale",
        ] {
            let selected = select(path, &[]);
            assert!(matches!(selected, Selected::Ambiguous(_)), "{path}: {selected:?}");
        }
    }

    #[test]
    fn a_path_whose_interpretations_belong_to_one_room_is_not_ambiguous() {
        for path in ["/shop/sale//x//y", "/shop/sale/a/../b", "/shop/sale/;x", "/shop/%73ale/"] {
            assert_eq!(select(path, &[]), SALE, "{path}");
        }
        assert_eq!(select("/shop/a;b/c", &[]), SHOP);
        let cafe = Table::new(vec![(Route::path("/"), 0), (Route::path("/caf\u{e9}/"), 1)]);
        let uri = "/caf%C3%A9/menu".parse().unwrap();
        assert_eq!(cafe.select(&uri, &HeaderMap::new()), SALE);
    }

    #[test]
    fn a_room_applies_if_only_some_interpretations_belong_to_it() {
        assert_eq!(select("/assets/..;/shop", &[]), SHOP);
        assert_eq!(select("/%73hop", &[]), SHOP);
        assert_eq!(select("/shop/../assets", &[]), SHOP);
    }

    #[test]
    fn a_path_that_cannot_be_read_belongs_to_a_room_only_if_there_is_no_other() {
        let path = format!("/{}", "a/".repeat(5_000));
        assert_eq!(select(&path, &[]), Selected::Ambiguous(1));
        let one = Table::new(vec![(Route::path("/shop"), 7)]);
        assert_eq!(one.select(&path.parse().unwrap(), &HeaderMap::new()), Selected::Room(7));
        assert_eq!(
            Table::new(Vec::new()).select(&path.parse().unwrap(), &HeaderMap::new()),
            Selected::None,
        );
    }
}
