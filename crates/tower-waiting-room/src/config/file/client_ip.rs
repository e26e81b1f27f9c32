//! The source of a client's address in a configuration file.

use serde::Deserialize;
use waiting_room_core::{ConfigError, error::ConfigErrorKind};

use super::settings::with;
use crate::request::{ClientIp, TrustedProxies};

/// The source of a client's address. If no field is given, the address of the connection is used.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClientIpFile {
    header: Option<String>,
    trusted: Option<Vec<String>>,
    hops: Option<u8>,
    ipv6_prefix: Option<u8>,
}

impl ClientIpFile {
    /// Converts the fields to an option for the builder.
    ///
    /// # Errors
    ///
    /// Returns an error if a network is malformed, if both `trusted` and `hops` are given, or if
    /// only one of a header and proxies is given.
    pub(super) fn client_ip(self) -> Result<ClientIp, ConfigError> {
        let wrong =
            |kind, given, expected: &str| Err(ConfigError::new(kind, "client_ip", given, expected));
        let trusted = match (&self.trusted, self.hops) {
            (Some(networks), None) => {
                Some(TrustedProxies::networks(networks.iter().map(String::as_str))?)
            }
            (None, Some(hops)) => Some(TrustedProxies::hops(hops)),
            (None, None) => None,
            (Some(_), Some(_)) => {
                let given = "trusted and hops";
                return wrong(ConfigErrorKind::Contradicts, given, "only one of the two");
            }
        };
        let client_ip = match (self.header, trusted) {
            (None, None) => ClientIp::peer(),
            // `Forwarded` and `X-Forwarded-For` contain chains to which each proxy adds an entry.
            // Every other header contains a single address.
            (Some(header), Some(trusted)) => match &*header.to_ascii_lowercase() {
                "forwarded" => ClientIp::forwarded(trusted),
                "x-forwarded-for" => ClientIp::x_forwarded_for(trusted),
                _ => ClientIp::header(header, trusted),
            },
            (Some(_), None) => {
                let expected =
                    "trusted or hops as well, because a header is trusted only from proxies";
                return wrong(ConfigErrorKind::Missing, "a header alone", expected);
            }
            (None, Some(_)) => {
                let given = "proxies alone";
                let expected = "proxies and the header that they set";
                return wrong(ConfigErrorKind::Missing, given, expected);
            }
        };
        Ok(with(client_ip, self.ipv6_prefix, ClientIp::ipv6_prefix))
    }
}
