//! The interface's description, made from the handlers.

use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::{decisions, handlers, hosting, operator};

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
        hosting::act,
        hosting::actions,
        hosting::claim,
        hosting::code,
        decisions::helper,
        decisions::deposit,
        decisions::stock,
        decisions::add_to_stock,
        decisions::layer,
        decisions::create,
        decisions::decision,
        decisions::records,
        decisions::append,
        decisions::mail,
        handlers::healthz,
        handlers::readyz,
        handlers::metrics,
        operator::overview,
        operator::faults,
        operator::audit,
        operator::set_log,
        operator::delete_room,
    ),
    modifiers(&Administrator),
)]
struct Description;

struct Administrator;

impl utoipa::Modify for Administrator {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        for name in ["administrator", "creation"] {
            components.add_security_scheme(name, SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        }
    }
}

/// The OpenAPI document, as JSON.
pub fn openapi() -> String {
    Description::openapi().to_pretty_json().expect("the description is plain data")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_description_covers_the_interface_and_its_errors() {
        let document: serde_json::Value = serde_json::from_str(&super::openapi()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        assert_eq!(paths.len(), 29);
        let submission = &paths["/api/v1/rooms/{id}/epochs/{number}/submission"]["post"];
        for status in ["202", "404", "409", "413", "422"] {
            assert!(submission["responses"][status].is_object(), "{status}");
        }
        for schema in ["Problem", "Status", "SubmissionRequest", "Issue", "NewRoom"] {
            assert!(document["components"]["schemas"][schema].is_object(), "{schema}");
        }
        assert_eq!(document["components"]["securitySchemes"]["administrator"]["scheme"], "bearer");
    }
}
