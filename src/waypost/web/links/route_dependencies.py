"""What the routes that make, show and change links depend on."""

from dataclasses import dataclass

from waypost.sharing.links.author import Author
from waypost.sharing.links.erasing import Eraser
from waypost.sharing.links.rights import EditTokens
from waypost.sharing.links.store import LinkStore
from waypost.sharing.phrases.vocabulary import Vocabularies
from waypost.sharing.visits.store import VisitStore
from waypost.web.follow.link_cache import LinkCache
from waypost.web.follow.route_dependencies import FollowParts


@dataclass(frozen=True)
class LinkParts:
    """After making or changing a link, call `cache.invalidate` with its phrase."""

    author: Author
    links: LinkStore
    visits: VisitStore
    vocabularies: Vocabularies
    edit_tokens: EditTokens
    eraser: Eraser
    follow: FollowParts

    @property
    def cache(self) -> LinkCache:
        return self.follow.cache
