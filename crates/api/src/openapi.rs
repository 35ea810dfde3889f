//! The interface's description, made from the handlers.

use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::handlers;

#[derive(OpenApi)]
#[openapi(
    info(title = "Ostrakon", description = "Anonymous rooms kept by three servers. Errors are problem documents (RFC 9457)."),
    paths(
        handlers::servers,
        handlers::create_room,
        handlers::rooms,
        handlers::room,
        handlers::close_room,
        handlers::presence,
        handlers::status,
        handlers::issue,
        handlers::submit,
        handlers::board,
        handlers::archive,
        handlers::healthz,
        handlers::readyz,
        handlers::metrics,
    ),
    modifiers(&Administrator),
)]
struct Description;

struct Administrator;

impl utoipa::Modify for Administrator {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("administrator", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    }
}

/// The OpenAPI document, as JSON.
pub fn openapi() -> String {
    Description::openapi().to_pretty_json().expect("the description is plain data")
}
