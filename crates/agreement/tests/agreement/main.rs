//! The ledger under adversaries. `OSTRAKON_NIGHTLY` runs a hundred times as many schedules.

mod attacks;
mod checkpoints;
mod costs;
mod founded;
mod keys;
mod lost;
mod real;
mod sabotage;
mod schedules;
mod world;

use ostrakon_testkit::nightly;
