// Pictures of a page open in full size.
document.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll("article img")) {
    if (picture.closest("a")) continue;
    const link = document.createElement("a");
    link.href = picture.src;
    link.className = "enlarge";
    link.title = "Open in full size";
    picture.replaceWith(link);
    link.append(picture);
  }
});
