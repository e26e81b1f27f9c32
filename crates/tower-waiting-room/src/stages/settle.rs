//! The response of the application, on its way out.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Response, header};
use waiting_room_core::{Reason, Store};

use super::{Asked, Forward, Gatekeeper, Token};
use crate::{
    config::DebugHeader,
    room::PassRenewal,
    token::{Source, TOKEN_HEADER},
};

/// With `revoke` on a response, the application ends the session of the visitor. Stripped.
pub const COMMAND_HEADER: HeaderName = HeaderName::from_static("waiting-room-command");

/// The same under the name that Cloudflare's product gave it.
const CLOUDFLARE_COMMAND_HEADER: HeaderName = HeaderName::from_static("cf-waiting-room-command");

/// The reason, where [`DebugHeader::On`] asks for it.
pub const REASON_HEADER: HeaderName = HeaderName::from_static("waiting-room-reason");

/// Why a response is what it is.
///
/// `None` on the path that most requests take: the visitor has a valid pass, or there is no room
/// and the limits allowed the request.
pub fn reason_of<B>(response: &Response<B>) -> Option<&Reason> {
    response.extensions().get()
}

/// A response on its way to the client.
pub(crate) enum Settled<T> {
    /// The session is over; to be sent when the store knows.
    Leave(Asked<()>, T),
    /// To be sent.
    Send(T),
}

impl<St: Store> Gatekeeper<St> {
    /// Finishes the response of the application: a session that it ends, a fresh pass, the reason.
    pub(crate) fn settle<B>(
        &self,
        forward: &mut Forward,
        mut response: Response<B>,
    ) -> Settled<Response<B>> {
        let headers = response.headers_mut();
        let is_revoked = take_command(headers);
        let over = forward.pass.filter(|pass| is_revoked || self.sessions.is_ended(pass));
        if let Some(pass) = &over {
            self.sessions.end(pass);
            self.detach(headers, forward.source);
        } else {
            if let Some(renewed) = forward.renewal.as_ref().and_then(PassRenewal::renewed) {
                forward.token = Some(self.pass_token(&renewed, renewed.last_check_in));
            }
            if let Some(token) = forward.token.take() {
                self.attach(headers, forward.source, token);
            }
        }
        if let Some(told) = &forward.told {
            let status = response.status();
            self.tell(told, status, response.headers_mut());
        }
        explain(&mut response, forward.reason.clone(), self.config.debug_header);
        let Some(pass) = over else { return Settled::Send(response) };
        let (store, outage) = (self.store.clone(), Arc::clone(&self.outage));
        let mut owed = self.sessions.take_end(pass.id);
        let leaving = Box::pin(async move {
            if outage.noted(&store, store.leave(pass.id).await).is_ok() {
                owed.is_told();
            }
        });
        Settled::Leave(leaving, response)
    }

    /// Sends a token the way the client's own came.
    pub(super) fn attach(&self, headers: &mut HeaderMap, source: Source, token: Token) {
        let Token { sealed, max_age } = token;
        match source {
            Source::Cookie => {
                headers.append(header::SET_COOKIE, self.transport.set_cookie(&sealed, max_age));
            }
            Source::Header => {
                headers.insert(TOKEN_HEADER, sealed.into_header_value());
            }
        }
        make_private(headers);
    }

    /// Has the client forget its token.
    fn detach(&self, headers: &mut HeaderMap, source: Source) {
        match source {
            Source::Cookie => {
                headers.append(header::SET_COOKIE, self.transport.delete_cookie());
            }
            Source::Header => {
                headers.insert(TOKEN_HEADER, HeaderValue::from_static(""));
            }
        }
        make_private(headers);
    }
}

/// Says why a response is what it is: in its extensions, unless it is the common case of a valid
/// pass, and in a header if that is wanted.
pub(super) fn explain<B>(response: &mut Response<B>, reason: Reason, header: DebugHeader) {
    if header == DebugHeader::On
        && let Ok(value) = HeaderValue::try_from(reason.to_string())
    {
        response.headers_mut().insert(REASON_HEADER, value);
    }
    if !matches!(reason, Reason::AdmittedLimits | Reason::AdmittedPass) {
        response.extensions_mut().insert(reason);
    }
}

/// Takes the application's commands off the response; says whether one of them was to revoke.
fn take_command(headers: &mut HeaderMap) -> bool {
    let mut is_revoked = false;
    // A response has few headers, so to read their names is less than to look two up.
    let commands = [COMMAND_HEADER, CLOUDFLARE_COMMAND_HEADER];
    if !headers.keys().any(|name| commands.contains(name)) {
        return false;
    }
    for name in commands {
        if let Some(value) = headers.remove(name) {
            is_revoked |= value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"revoke");
        }
    }
    is_revoked
}

/// Keeps shared caches from storing a response with somebody's token in it, and handing it to
/// many (RFC 9111 section 7.3). What the application says about private caches stays; what it says
/// to shared ones alone (RFC 9213) goes.
fn make_private(headers: &mut HeaderMap) {
    for targeted in ["cdn-cache-control", "cloudflare-cdn-cache-control", "surrogate-control"] {
        headers.remove(targeted);
    }
    let mut kept: Vec<&str> = Vec::new();
    for line in headers.get_all(header::CACHE_CONTROL) {
        for directive in line.to_str().unwrap_or_default().split(',').map(str::trim) {
            let name = directive.split('=').next().unwrap_or_default();
            if name.eq_ignore_ascii_case("no-store") || directive.eq_ignore_ascii_case("private") {
                return;
            }
            let is_shared = ["public", "s-maxage", "private", "proxy-revalidate"]
                .iter()
                .any(|shared| name.eq_ignore_ascii_case(shared));
            if !directive.is_empty() && !is_shared {
                kept.push(directive);
            }
        }
    }
    kept.insert(0, "private");
    if let Ok(value) = HeaderValue::try_from(kept.join(", ")) {
        headers.insert(header::CACHE_CONTROL, value);
    }
}
