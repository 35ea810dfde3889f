//! The web client's files and the headers that confine it.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use tower_http::services::ServeDir;

use crate::problem::Problem;

/// Names of files below this path contain a digest of their contents.
const HASHED: &str = "/assets/";

/// The type of Prometheus' text format.
pub(crate) const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

const PERMISSIONS: &str =
    "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()";

/// The policy for pages: scripts, styles and WASM of this origin, none inline, and requests to the
/// servers only.
pub(crate) fn content_security_policy(origins: &[String]) -> HeaderValue {
    // An origin that is no plain `scheme://host:port` could add rules of its own.
    let plain = |origin: &&String| {
        origin.chars().all(|c| c.is_ascii_alphanumeric() || "-.:/[]".contains(c))
    };
    let connect: Vec<_> = origins.iter().filter(plain).map(String::as_str).collect();
    let policy = format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
         font-src 'self'; manifest-src 'self'; worker-src 'self'; connect-src 'self' {}; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        connect.join(" ")
    );
    HeaderValue::from_str(&policy).expect("made of visible ASCII")
}

/// Headers for every answer.
pub(crate) fn security_headers(origins: &[String]) -> [(HeaderName, HeaderValue); 6] {
    [
        (header::CONTENT_SECURITY_POLICY, content_security_policy(origins)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
        (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (HeaderName::from_static("permissions-policy"), HeaderValue::from_static(PERMISSIONS)),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            HeaderValue::from_static("same-origin"),
        ),
    ]
}

/// Where the page begins of a server that is none of rooms and decisions: its address says what the
/// server has instead.
#[derive(Clone)]
pub(crate) struct StartPage(Arc<str>);

impl StartPage {
    /// The front whose address has these words.
    pub fn of(words: &str) -> Self {
        Self(format!("/?{words}").into())
    }
}

/// Leads from `/` to a server's front: what stands behind `#`, as in links, stays there.
pub(crate) async fn to_start_page(
    State(start): State<StartPage>,
    request: Request,
    next: Next,
) -> Response {
    let uri = request.uri();
    if request.method() == Method::GET && uri.path() == "/" && uri.query().is_none() {
        return Redirect::temporary(&start.0).into_response();
    }
    next.run(request).await
}

/// What every answer gets.
#[derive(Clone)]
pub(crate) struct Finish(Arc<[(HeaderName, HeaderValue); 6]>);

impl Finish {
    pub fn new(origins: &[String]) -> Self {
        Self(Arc::new(security_headers(origins)))
    }
}

/// The outermost layer: headers, and a problem document for every refusal that has none.
///
/// It says whether an answer may be kept: hashed files for ever, other files after asking,
/// everything else never.
pub(crate) async fn finish(
    State(Finish(security)): State<Finish>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    let hashed = path.starts_with(HASHED);
    let api = path.starts_with("/api/");
    let mut response = explained(next.run(request).await);
    let policy = match (hashed && response.status().is_success(), api) {
        (true, _) => "public, max-age=31536000, immutable",
        (false, true) => "no-store",
        (false, false) => "no-cache",
    };
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(policy));
    for (name, value) in security.iter() {
        headers.insert(name, value.clone());
    }
    response
}

/// Gives a refusal that is not made here a problem document.
fn explained(response: Response) -> Response {
    let status = response.status();
    let refused = status.is_client_error() || status.is_server_error();
    let json = |value: &HeaderValue| value.to_str().is_ok_and(|kind| kind.ends_with("json"));
    if !refused || response.headers().get(header::CONTENT_TYPE).is_some_and(json) {
        return response;
    }
    let detail = match status {
        StatusCode::RANGE_NOT_SATISFIABLE => {
            "the file has no such part; ask for it without `range`"
        }
        _ => {
            "the request cannot be answered as it is; /api/v1/openapi.json describes what can be asked"
        }
    };
    let (mut parts, body) = Problem::new(status, detail).into_response().into_parts();
    // Headers such as `allow` and `content-range` stay; those of the body are the document's.
    let (refusal, _) = response.into_parts();
    let of_body = [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::CONTENT_ENCODING];
    let stays = |(name, value): (Option<HeaderName>, HeaderValue)| Some((name?, value));
    parts.headers.extend(
        refusal.headers.into_iter().filter_map(stays).filter(|(name, _)| !of_body.contains(name)),
    );
    Response::from_parts(parts, body)
}

/// Serves the files below `directory`; without one, says how to have them.
pub(crate) fn files<S: Clone + Send + Sync + 'static>(directory: Option<&Path>) -> Router<S> {
    match directory {
        Some(directory) => {
            let missing = axum::handler::HandlerWithoutStateExt::into_service(no_such_path);
            Router::new().fallback_service(
                // What lies compressed beside a file is sent to whoever takes it: to compress the
                // page's cryptography for each visitor takes longer than all else of a visit.
                ServeDir::new(directory)
                    .precompressed_br()
                    .precompressed_gzip()
                    .call_fallback_on_method_not_allowed(true)
                    .fallback(missing),
            )
        }
        None => Router::new().route("/", axum::routing::get(no_client)).fallback(no_such_path),
    }
}

async fn no_client() -> &'static str {
    "This is an Ostrakon server without the web client: start it with --web DIR to serve one. \
     /api/v1/openapi.json describes its interface.\n"
}

pub(crate) async fn no_such_path() -> Response {
    Problem::no_such_path().into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tower::ServiceExt;

    async fn get(directory: Option<&Path>, path: &str) -> Response {
        let router: Router =
            files(directory).layer(axum::middleware::from_fn_with_state(Finish::new(&[]), finish));
        router.oneshot(Request::get(path).body(axum::body::Body::empty()).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn files_are_served_with_their_types_and_nothing_outside_is() {
        let root = tempfile::tempdir().unwrap();
        let web = root.path().join("web");
        std::fs::create_dir_all(web.join("assets")).unwrap();
        std::fs::write(web.join("index.html"), "page").unwrap();
        std::fs::write(web.join("assets/core-12.wasm"), "wasm").unwrap();
        std::fs::write(root.path().join("secret"), "secret").unwrap();
        let page = get(Some(&web), "/").await;
        assert_eq!(
            (page.status(), &page.headers()[header::CONTENT_TYPE]),
            (StatusCode::OK, &HeaderValue::from_static("text/html"))
        );
        assert_eq!(page.headers()[header::CACHE_CONTROL], "no-cache");
        let wasm = get(Some(&web), "/assets/core-12.wasm").await;
        assert_eq!(wasm.headers()[header::CONTENT_TYPE], "application/wasm");
        assert!(wasm.headers()[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        for path in [
            "/../secret",
            "/..%2fsecret",
            "/%2e%2e/secret",
            "/assets/../../secret",
            "/assets/none.js",
            "/none",
        ] {
            let response = get(Some(&web), path).await;
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
            assert_eq!(response.headers()[header::CACHE_CONTROL], "no-cache", "{path}");
        }
        assert_eq!(get(None, "/").await.status(), StatusCode::OK);
        assert_eq!(get(None, "/none").await.status(), StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_file_is_sent_as_it_lies_compressed_to_whoever_takes_it() {
        let root = tempfile::tempdir().unwrap();
        for (name, contents) in [("a.js", "plain"), ("a.js.br", "small"), ("a.js.gz", "wide")] {
            std::fs::write(root.path().join(name), contents).unwrap();
        }
        for (taken, encoding, contents) in
            [("gzip, br", Some("br"), "small"), ("gzip", Some("gzip"), "wide"), ("", None, "plain")]
        {
            let request = Request::get("/a.js").header(header::ACCEPT_ENCODING, taken);
            let request = request.body(axum::body::Body::empty()).unwrap();
            let response = files::<()>(Some(root.path())).oneshot(request).await.unwrap();
            let (head, body) = response.into_parts();
            assert_eq!(head.headers[header::CONTENT_TYPE], "text/javascript");
            assert_eq!(head.headers[header::VARY], "accept-encoding");
            let said = head.headers.get(header::CONTENT_ENCODING);
            assert_eq!(said.map(|said| said.to_str().unwrap()), encoding);
            assert_eq!(axum::body::to_bytes(body, 99).await.unwrap(), contents.as_bytes());
        }
    }

    #[tokio::test]
    async fn refusals_of_the_file_server_are_explained_too() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("index.html"), "page").unwrap();
        let router: Router = files(Some(root.path()))
            .layer(axum::middleware::from_fn_with_state(Finish::new(&[]), finish));
        let request = Request::get("/index.html")
            .header(header::RANGE, "bytes=9-")
            .body(axum::body::Body::empty());
        let response = router.oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::RANGE_NOT_SATISFIABLE);
        assert_eq!(response.headers()[header::CONTENT_RANGE], "bytes */4");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
        let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
        assert_eq!(serde_json::from_slice::<Problem>(&body).unwrap().status, 416);
    }

    #[test]
    fn no_origin_can_add_a_rule() {
        let origins = ["http://127.0.0.1:7001".to_owned(), "http://x; script-src *".to_owned()];
        let policy = content_security_policy(&origins);
        let policy = policy.to_str().unwrap();
        assert!(policy.contains("connect-src 'self' http://127.0.0.1:7001; base-uri"), "{policy}");
        assert!(!policy.contains("script-src *"), "{policy}");
        assert!(!policy.contains("unsafe-inline"), "{policy}");
    }
}
