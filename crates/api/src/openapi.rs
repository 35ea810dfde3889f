//! The interface's description, made from the handlers.

use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, Response};
use utoipa::{Modify, OpenApi, ToSchema};

use crate::problem::{self, Problem};
use crate::{handlers, hosting, jobs, operator};

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
        jobs::subject,
        jobs::say,
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

impl Modify for Administrator {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        for name in ["administrator", "creation"] {
            components
                .add_security_scheme(name, SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        }
    }
}

/// Operations that an intake process carries out; of all others it says who does.
const AT_INTAKE: [&str; 12] = [
    "servers", "room", "presence", "status", "issue", "submit", "board", "archive", "actions",
    "healthz", "readyz", "metrics",
];

/// What the layers around the handlers answer with, and the state that the server is in.
struct Problems;

impl Modify for Problems {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        for operation in openapi.paths.paths.values_mut().flat_map(operations) {
            add_common(operation);
            operation.responses.responses.values_mut().for_each(state_type);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten()
}

fn reference() -> RefOr<utoipa::openapi::Schema> {
    RefOr::Ref(Ref::from_schema_name(Problem::name()))
}

/// Adds the problems that handlers do not know of, unless an operation says something closer
/// itself.
fn add_common(operation: &mut Operation) {
    let at_intake = operation.operation_id.as_deref().is_some_and(|id| AT_INTAKE.contains(&id));
    let common = [
        ("408", true, "The request took too long, or its body did."),
        ("413", operation.request_body.is_some(), "The body has more bytes than are taken."),
        (
            "421",
            !at_intake,
            "Not this process of the server; the problem names the one that is known to do it.",
        ),
        ("429", true, "More than a limit admits: wait a moment."),
        ("503", true, "Not now; the problem says what the server waits for."),
    ];
    for (status, applies, description) in common {
        if applies {
            let problem = || {
                let mut response = Response::new(description);
                response
                    .content
                    .insert(problem::MEDIA_TYPE.to_owned(), Content::new(Some(reference())).into());
                response.into()
            };
            operation.responses.responses.entry(status.to_owned()).or_insert_with(problem);
        }
    }
}

/// States the media type that problems have: handlers name the body alone, which is then taken for
/// plain JSON.
fn state_type(response: &mut RefOr<Response>) {
    let RefOr::T(response) = response else { return };
    let content = std::mem::take(&mut response.content);
    let typed = content.into_iter().map(|(media_type, content)| {
        let is_problem =
            matches!(&content, RefOr::T(content) if content.schema == Some(reference()));
        (if is_problem { problem::MEDIA_TYPE.to_owned() } else { media_type }, content)
    });
    response.content = typed.collect();
}

/// The OpenAPI document, as JSON.
pub fn openapi() -> String {
    let mut document = Description::openapi();
    jobs::registry::descriptions().into_iter().for_each(|job| document.merge(job));
    Problems.modify(&mut document);
    document.to_pretty_json().expect("the description is plain data")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_description_covers_the_interface_and_its_errors() {
        let document: serde_json::Value = serde_json::from_str(&super::openapi()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        assert_eq!(paths.len(), 35);
        let submission = &paths["/api/v1/rooms/{id}/epochs/{number}/submission"]["post"];
        for status in ["202", "404", "409", "413", "422"] {
            assert!(submission["responses"][status].is_object(), "{status}");
        }
        for schema in ["Problem", "Status", "SubmissionRequest", "Issue", "NewRoom"] {
            assert!(document["components"]["schemas"][schema].is_object(), "{schema}");
        }
        assert_eq!(document["components"]["securitySchemes"]["administrator"]["scheme"], "bearer");
    }

    #[test]
    fn problems_have_their_media_type_and_common_ones_are_described_everywhere() {
        let document: serde_json::Value = serde_json::from_str(&super::openapi()).unwrap();
        let items = document["paths"].as_object().unwrap().values();
        let operations: Vec<_> =
            items.flat_map(|item| item.as_object().unwrap().values()).collect();
        let mut ids = Vec::new();
        for operation in operations {
            let (id, responses) =
                (operation["operationId"].as_str().unwrap(), &operation["responses"]);
            for (status, response) in responses.as_object().unwrap() {
                let Some(content) = response["content"].as_object() else { continue };
                let is_problem = |content: &serde_json::Value| {
                    content["schema"]["$ref"] == "#/components/schemas/Problem"
                };
                let types: Vec<_> = content.keys().collect();
                let any = content.values().any(is_problem);
                assert_eq!(any, types == ["application/problem+json"], "{id} {status}: {types:?}");
                assert!(any || !status.starts_with('4'), "{id} {status}");
            }
            for status in ["408", "429", "503"] {
                assert!(responses[status].is_object(), "{id} {status}");
            }
            assert!(responses["413"].is_object() || operation["requestBody"].is_null(), "{id}");
            ids.push(id);
        }
        assert!(
            super::AT_INTAKE
                .iter()
                .all(|served| ids.iter().filter(|id| *id == served).count() == 1),
            "{ids:?}"
        );
        let status = |path: &str, method: &str| {
            document["paths"][path][method]["responses"]["421"].is_object()
        };
        assert!(
            status("/api/v1/operator/audit", "get") && !status("/api/v1/rooms/{id}/status", "get")
        );
        // What a handler says itself stands.
        let not_ready = &document["paths"]["/readyz"]["get"]["responses"]["503"]["content"];
        assert_eq!(
            not_ready["application/json"]["schema"]["$ref"],
            "#/components/schemas/Readiness"
        );
    }
}
