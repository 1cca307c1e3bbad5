CREATE TABLE [dbo].[Users] (
    [Id] INT NOT NULL,
    [Name] NVARCHAR(50)
)
GO
CREATE PROCEDURE [dbo].[Get User] @id INT
AS
BEGIN
    BEGIN TRAN;
    IF @id = 1
    BEGIN
        SELECT 1;
    END
    COMMIT;
END
GO
CREATE VIEW dbo.V AS SELECT 1 AS x;
GO
