//! A request as rules see it.

use http::{
    Extensions, HeaderMap, Method, Uri, Version,
    header::{ACCESS_CONTROL_REQUEST_METHOD, ORIGIN},
};

/// What a rule may look at: a request without its body.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    method: &'a Method,
    uri: &'a Uri,
    version: Version,
    headers: &'a HeaderMap,
    extensions: &'a Extensions,
}

impl<'a> RequestHead<'a> {
    /// The method.
    #[must_use]
    pub const fn method(&self) -> &'a Method {
        self.method
    }

    /// The target.
    #[must_use]
    pub const fn uri(&self) -> &'a Uri {
        self.uri
    }

    /// The version of HTTP.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The headers.
    #[must_use]
    pub const fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// What the services before this one have attached.
    #[must_use]
    pub const fn extensions(&self) -> &'a Extensions {
        self.extensions
    }

    /// Whether a browser asks if a script of another origin may send a request (CORS preflight).
    pub(crate) fn is_preflight(&self) -> bool {
        self.method == Method::OPTIONS
            && self.headers.contains_key(ORIGIN)
            && self.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }
}

impl<'a, B> From<&'a http::Request<B>> for RequestHead<'a> {
    fn from(request: &'a http::Request<B>) -> Self {
        Self {
            method: request.method(),
            uri: request.uri(),
            version: request.version(),
            headers: request.headers(),
            extensions: request.extensions(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preflight_is_options_with_both_headers() {
        let is_preflight = |method, names: &[&'static str]| {
            let mut request = http::Request::new(());
            *request.method_mut() = method;
            for name in names {
                request.headers_mut().insert(*name, http::HeaderValue::from_static("PUT"));
            }
            RequestHead::from(&request).is_preflight()
        };
        let both = ["origin", "access-control-request-method"];
        assert!(is_preflight(Method::OPTIONS, &both));
        assert!(!is_preflight(Method::GET, &both));
        assert!(!is_preflight(Method::OPTIONS, &both[..1]));
        assert!(!is_preflight(Method::OPTIONS, &both[1..]));
    }
}
