//! The pages of `docs/guide` as pages of the documentation. The folder `guide` of this crate is a
//! link to these pages. `links.md` is inserted before each page. Since the first definition of a
//! link counts, links lead to modules in the documentation, and to files in the repository.

macro_rules! page {
    ($($module:ident: $file:literal,)*) => {$(
        #[doc = include_str!("guide/links.md")]
        #[doc = include_str!(concat!("../guide/", $file))]
        pub mod $module {}
    )*};
}

page! {
    choosing_limits: "choosing-limits.md",
    clients: "clients.md",
    day_plan: "day-plan.md",
    events: "events.md",
    from_cloudflare: "from-cloudflare.md",
    keys: "keys.md",
    kubernetes: "kubernetes.md",
    migration: "migration.md",
    people: "people.md",
    proxy: "proxy.md",
    push: "push.md",
    quick_start: "quick-start.md",
    security: "security.md",
    several_rooms: "several-rooms.md",
    streams: "streams.md",
    troubleshooting: "troubleshooting.md",
    wiring: "wiring.md",
}
