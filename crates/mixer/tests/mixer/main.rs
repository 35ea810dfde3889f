//! Servers over real links with real journals, some of which are killed, frozen, restored from an
//! old copy, or speak whatever they like; and devices that visit them.

mod hostile;
#[path = "../../../asynchromix/tests/asynchromix/lies.rs"]
mod lies;
mod links;
mod turncoat;
mod world;
