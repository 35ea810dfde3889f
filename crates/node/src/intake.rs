//! Puts what participants hand in on disk, many at a time.
//!
//! A commit costs the same for one submission as for hundreds. What arrives while one commit is
//! under way goes into the next. At most [`WAITING`] wait; who comes then is told to come again.

use ostrakon_store::{Intake, Taken};
use tokio::sync::{mpsc, oneshot};

use crate::disk::Disk;
use ostrakon_protocol::ServiceError;

/// How many may wait.
pub(crate) const WAITING: usize = 4096;
/// How many one commit takes.
const AT_ONCE: usize = 512;

/// Something to be recorded, and who waits for it.
pub(crate) struct Pending {
    intake: Intake,
    reply: oneshot::Sender<Result<Taken, ServiceError>>,
}

/// Records something; it is on disk when this returns.
pub(crate) async fn take_in(
    queue: &mpsc::Sender<Pending>,
    intake: Intake,
) -> Result<Taken, ServiceError> {
    let (reply, result) = oneshot::channel();
    let full =
        |_| ServiceError::Busy("too many participants at once; try again in a moment".into());
    queue.try_send(Pending { intake, reply }).map_err(full)?;
    result.await.unwrap_or(Err(ServiceError::Unavailable("the server is being stopped".into())))
}

/// Records what arrives, until the server stops; `note` is told what became of it.
pub(crate) async fn run(
    store: Disk,
    mut arriving: mpsc::Receiver<Pending>,
    note: impl Fn(&[Intake], &[Taken]),
) {
    let mut many = Vec::new();
    while arriving.recv_many(&mut many, AT_ONCE).await > 0 {
        let (intakes, replies): (Vec<_>, Vec<_>) =
            many.drain(..).map(|one| (one.intake, one.reply)).unzip();
        match store.take_in(&intakes).await {
            Ok(taken) => {
                note(&intakes, &taken);
                for (reply, taken) in replies.into_iter().zip(taken) {
                    drop(reply.send(Ok(taken)));
                }
            }
            Err(error) => {
                store.complain(&error, "submissions cannot be recorded");
                for reply in replies {
                    drop(reply.send(Err(ServiceError::Internal)));
                }
            }
        }
    }
}
