//! Prints the OpenAPI document, from which the web client's types are generated.

fn main() {
    println!("{}", ostrakon_api::openapi());
}
