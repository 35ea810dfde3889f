//! A device in a room or in a decision, for every front end: which requests leave it, and when. A
//! [`Participant`] takes part (`docs/spec/participant.md`); a [`Follower`] reads what servers show
//! (`docs/spec/follower.md`); a [`Visitor`](visitor::Visitor) decides with others
//! (`docs/spec/visitor.md`), and [`Beginning`](visitor::Beginning) begins a decision;
//! [`Opening`](host::Opening) opens a room, a [`Host`](host::Host) acts in it, and
//! [`Claiming`](host::Claiming) takes an invitation (`docs/spec/hosting.md`, H1 to H6).
//! [`asking`] is what a creator wants decided, and by whom (V8).
//! [`Arriving`] leads from a link to servers and room (`docs/spec/arriving.md`). [`Joining`] is
//! what is believed of a join link that servers show (`docs/spec/decide.md`, steps 4a to 4d), and
//! [`Canvass`](joining::Canvass) asks them about it (`docs/spec/visitor.md`, V9).
//!
//! State machines without sockets, clock, storage or randomness of their own. A front end tells
//! them what happened (time passed, what a server said, what came of a request, what is to go into
//! an epoch), does what they ask for ([`Action`], [`Sight`]), and wakes them when they say. So the
//! command line, the page and the tests send the same, and a server cannot tell which of them
//! somebody uses.
//!
//! [`Outbox`](ostrakon_broadcast::outbox::Outbox) keeps what is to be said, and decides what goes
//! into an epoch; how a row is hidden is the engine's
//! ([`Author`](ostrakon_mixing::submission::Author)).

mod arriving;
pub mod asking;
mod epoch;
mod follower;
mod home;
pub mod host;
pub mod joining;
mod machine;
mod participant;
mod pauses;
mod pinned;
mod presence;
mod refusal;
mod reports;
mod request;
mod taking_part;
mod time;
pub mod visitor;

pub use arriving::{
    Arrived, ArrivedRoom, Arriving, ArrivingAction, ArrivingFailure, ArrivingNews, Destination,
    Documents,
};
pub use follower::{Follower, Sight};
pub use joining::{Joining, JoiningPlan};
pub use machine::{Action, Filled, News, Participant, Scene};
pub use pinned::servers_of;
pub use refusal::passes;
pub use reports::Reports;
pub use request::{Answer, Body, Call, Http, Request, Sending};
pub use time::Millis;
