//! Many sites, one limit.

pub mod escrow;
mod site_id;

pub use self::site_id::SiteId;
