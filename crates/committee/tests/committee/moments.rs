//! Moments of a computation that a member's disk tells apart, as SQL on its database.

/// What a member has written last when it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The last report; its receipt may be lost.
    Input,
    /// The order to close.
    Order,
    /// That it has closed, with what it holds.
    Holdings,
    /// The list that counts, not signed.
    Listed,
    /// The list that counts, signed.
    Sealed,
    /// That it begins, not said.
    Counted,
    /// That it begins.
    Ready,
    /// The attempt's randomness.
    Seed,
    /// So many pieces of the attempt's tape, each of which is an exchange.
    Pieces(usize),
    /// So many marks of what is used once, or more if they were made together.
    Marks(usize),
    /// The result, not signed.
    Conclusion,
    /// The result, signed.
    Outcome,
}

impl Moment {
    /// All that there is one of.
    pub const ONCE: [Self; 10] = [
        Self::Input,
        Self::Order,
        Self::Holdings,
        Self::Listed,
        Self::Sealed,
        Self::Counted,
        Self::Ready,
        Self::Seed,
        Self::Conclusion,
        Self::Outcome,
    ];

    /// Lets the member write again.
    pub const THAW: &'static str = "DROP TRIGGER late_inputs; DROP TRIGGER late_statements; \
         DROP TRIGGER late_marks; DROP TRIGGER late_attempts; DROP TRIGGER late_computations;";

    /// Whether the member of this number has come to it with so many reports that were brought to
    /// it; of one computation.
    pub fn condition(self, member: usize, reports: usize) -> String {
        let said = |kind: &str| {
            format!("(SELECT COUNT(*) FROM statements WHERE member = {member} AND kind = '{kind}')")
        };
        match self {
            Self::Input => format!("(SELECT COUNT(*) FROM inputs WHERE held = 1) >= {reports}"),
            Self::Order => "(SELECT COUNT(close_order) FROM computations)".into(),
            Self::Holdings => said("holdings"),
            Self::Listed => "(SELECT COUNT(seal) FROM computations)".into(),
            Self::Sealed => said("sealed"),
            Self::Counted => "(SELECT MAX(generation) FROM computations)".into(),
            Self::Ready => said("ready"),
            Self::Seed => "(SELECT COUNT(*) FROM attempts)".into(),
            Self::Pieces(pieces) => format!("(SELECT COUNT(*) FROM attempts) > {pieces}"),
            Self::Marks(marks) => format!("(SELECT COUNT(*) FROM marks) >= {marks}"),
            Self::Conclusion => "(SELECT COUNT(conclusion) FROM computations)".into(),
            Self::Outcome => said("outcome"),
        }
    }

    /// Keeps the member from writing anything after it.
    pub fn freeze(self, member: usize, reports: usize) -> String {
        let condition = self.condition(member, reports);
        // Marks that are made together are written together.
        let table = |table: &str, writing: &str| {
            let exempt = table == "marks" && matches!(self, Self::Marks(_));
            let condition = if exempt { "0" } else { &condition };
            format!(
                "CREATE TRIGGER late_{table} BEFORE {writing} ON {table} WHEN {condition} \
                 BEGIN SELECT RAISE(ABORT, 'this member is dead'); END;"
            )
        };
        [
            table("inputs", "INSERT"),
            table("statements", "INSERT"),
            table("marks", "INSERT"),
            table("attempts", "INSERT"),
            table("computations", "UPDATE"),
        ]
        .concat()
    }
}
