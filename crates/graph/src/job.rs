//! A job: a descriptor together with its program.

use crate::program::VertexProgram;
use crate::ruffle2::uses::Use;
use crate::spec::JobSpec;
use crate::watch::Watch;

/// A descriptor together with its program; they have been found to fit.
pub struct Job<P> {
    spec: JobSpec,
    program: P,
    watch: Watch,
}

impl<P: VertexProgram> Job<P> {
    /// A job; `None` if the descriptor is not valid, or names another program.
    pub fn new(spec: JobSpec, program: P) -> Option<Self> {
        let fits = spec.is_valid() && spec.program == program.describe();
        fits.then(|| Self { spec, program, watch: Watch::default() })
    }

    /// The same job, of whose stages somebody is told.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// Who is told of its stages.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The descriptor.
    pub fn spec(&self) -> &JobSpec {
        &self.spec
    }

    /// The program.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// All uses of its permutations, and which of them are of the order check.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (Use, bool)> + '_ {
        let spec = &self.spec;
        let lists = 0..spec.lists.len();
        let checks =
            lists.clone().flat_map(|list| [0, 1, 2].map(|k| (spec.check_use(list, k), true)));
        let hops = lists.flat_map(move |list| {
            let of = move |hop| [0, 1, 2].map(|step| (spec.hop_use(list, hop, step), false));
            (0..spec.hops).flat_map(of)
        });
        let outputs = (0..spec.hops).filter_map(|hop| Some((spec.output_use(hop)?, false)));
        checks.chain(hops).chain(outputs)
    }
}
