//! The whole life of a room in simulation: founding, stock, epochs, crashes, corrupt servers and
//! participants, under a scheduler that a seed decides.

mod attacks;
mod described;
mod devices;
mod disk;
mod founding;
#[path = "../../../agreement/tests/agreement/keys.rs"]
mod keys;
mod late;
mod liar;
mod lies;
mod life;
mod limits;
mod rows;
mod sabotage;
mod storms;
mod trial;
mod world;

pub use ostrakon_testkit::nightly;
