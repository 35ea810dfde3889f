//! The engine among n servers in one process, under an adversarial scheduler: messages arrive in a
//! drawn order, some as late as possible, and up to t servers do as they like.
//!
//! Seeds are printed on failure. `OSTRAKON_NIGHTLY` runs more seeds, n = 10, and more repetitions.

mod attacks;
mod dealers;
mod honest;
mod products;
mod sabotage;
mod world;
