//! A few seconds of the fuzzing that otherwise runs for hours (`tools/fuzz`): each input of the
//! corpora, which are captures of real servers and what was found with them, and mutations of
//! these.

mod fuzzed;

use fuzzed::TARGETS;
use loadstone_fuzzing::each_target;

each_target! {
    greeting
    authentication
    text_results
    binary_results
    prepared
    errors
    local_infile
    packets
    compressed
}
